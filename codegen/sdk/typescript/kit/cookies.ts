// Pass cookies of Gatewright on to the browser.

/** Return a response with further `Set-Cookie` headers. */
export function withCookies(response: Response, cookies: readonly string[]): Response {
  if (cookies.length === 0) return response;
  // The headers of a redirect, and of a response of `fetch`, cannot be changed.
  const changed = new Response(response.body, response);
  for (const cookie of cookies) changed.headers.append("Set-Cookie", cookie);
  return changed;
}
