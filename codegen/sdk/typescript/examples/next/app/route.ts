import { signIn } from "@/lib/gatewright";

export const dynamic = "force-dynamic";

export const GET = async () => Response.json({ email: (await signIn.signedIn())?.user.email ?? null });
