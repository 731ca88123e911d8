import { received } from "@/lib/events";

export const dynamic = "force-dynamic";

export const GET = () => Response.json([...received.values()]);
