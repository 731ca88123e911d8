// Codes by email.

import { ADA, PASSWORD, codeOf, holding, nobody, ok } from "../client.js";

export async function stage(): Promise<void> {
  const [grace, renamed] = ["grace.code@example.com", "grace.new@example.com"];
  ok(await nobody.emailCodes.send({ body: { email: ADA, type: "sign-in" } }));
  const otp = await codeOf("sign-in-code", ADA);
  ok(await nobody.emailCodes.check({ body: { email: ADA, type: "sign-in", otp } }));
  ok(await nobody.emailCodes.signIn({ body: { email: ADA, otp } }));
  const made = ok(await nobody.authentication.signUpEmail({ body: { name: "Grace", email: grace, password: PASSWORD } }));
  ok(await nobody.emailCodes.send({ body: { email: grace, type: "email-verification" } }));
  ok(await nobody.emailCodes.verifyEmail({ body: { email: grace, otp: await codeOf("verify-email-code", grace) } }));
  const sdk = holding(made.token ?? "");
  ok(await sdk.emailCodes.requestChange({ body: { newEmail: renamed } }));
  ok(await sdk.emailCodes.changeEmail({ body: { newEmail: renamed, otp: await codeOf("change-email-code", renamed) } }));
  ok(await nobody.emailCodes.forgetPassword({ body: { email: renamed } }));
  ok(await nobody.emailCodes.requestReset({ body: { email: ADA } }));
  const reset = { email: ADA, otp: await codeOf("reset-password-code", ADA), password: PASSWORD };
  ok(await nobody.emailCodes.resetPassword({ body: reset }));
}
