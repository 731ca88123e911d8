import { signIn } from "@/lib/gatewright";

export const GET = signIn.route;
export const POST = signIn.route;
