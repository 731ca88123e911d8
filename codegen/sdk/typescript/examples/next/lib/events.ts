// The webhooks that were received. A real application stores them in its database.

const kept = globalThis as typeof globalThis & { received?: Map<string, string> };

export const received = (kept.received ??= new Map<string, string>());
