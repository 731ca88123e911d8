// The client of the service that the environment names, and what was mailed.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { Gatewright, type ErrorCode } from "gatewright-client";
import { createClient } from "gatewright-client/client";

export const ROOT = process.env.SERVICE_ROOT ?? "";
export const PROVIDER = process.env.PROVIDER_ISSUER ?? "";
export const MAILS = process.env.MAIL_FILE ?? "";
export const PASSWORD = "correct horse battery";
export const NEW_PASSWORD = "four more words than before";
export const ADA = "ada@example.com";
export const TIMEOUT = 10_000;

export interface Mail {
  template: string;
  to: string;
  link: string | null;
  code: string | null;
  text: string;
}

/** The SDK for whoever holds this token, of a session or of a pending sign-in; without one, for nobody. */
export function holding(token?: string, headers: Record<string, string> = {}): Gatewright {
  const client = createClient({ baseUrl: ROOT, auth: token, headers, redirect: "manual" });
  return new Gatewright({ client });
}

export const nobody = holding();

export interface Answer<Data> {
  data?: Data;
  error?: { code: ErrorCode; message: string };
}

/** Give the data of an answer that must be a success. */
export function ok<Data>(answer: Answer<Data>): NonNullable<Data> {
  if (answer.error || answer.data === undefined || answer.data === null) throw new Error(JSON.stringify(answer.error));
  return answer.data;
}

/** Give the code of an answer that must be an error. */
export function refused(answer: Answer<unknown>): ErrorCode {
  assert.ok(answer.error, "no error");
  return answer.error.code;
}

export async function sent(template: string, to: string): Promise<Mail[]> {
  const lines = (await readFile(MAILS, "utf8").catch(() => "")).trim().split("\n").filter(Boolean);
  return lines.map((line): Mail => JSON.parse(line)).filter((each) => each.template === template && each.to === to);
}

export async function mail(template: string, to: string, besides = 0): Promise<Mail> {
  const end = Date.now() + TIMEOUT;
  while (Date.now() < end) {
    const mails = await sent(template, to);
    const newest = mails.at(-1);
    if (newest && mails.length > besides) return newest;
    await new Promise((resume) => setTimeout(resume, 50));
  }
  throw new Error(`no mail ${template} to ${to}`);
}

export function tokenIn(sent: Mail): string {
  const address = new URL(sent.link ?? "");
  return address.searchParams.get("token") ?? address.pathname.split("/").at(-1) ?? "";
}

export async function signedIn(password = PASSWORD, email = ADA): Promise<{ sdk: Gatewright; token: string }> {
  const { token } = ok(await nobody.authentication.signInEmail({ body: { email, password } }));
  return { sdk: holding(token), token };
}

export async function administrator(): Promise<Gatewright> {
  return (await signedIn(PASSWORD, process.env["ADMIN_EMAIL"] ?? "")).sdk;
}

export async function codeOf(template: string, to: string): Promise<string> {
  return (await mail(template, to)).code ?? "";
}
