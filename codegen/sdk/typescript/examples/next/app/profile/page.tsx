import { auth } from "@/lib/gatewright";

export default async function Profile() {
  const caller = await auth.session();
  return <h1>{caller?.user.name}</h1>;
}
