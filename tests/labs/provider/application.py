"""A page that signs in through this provider, for people who try it out and for the tests with a real browser."""

from flask import render_template_string

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>An application</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; background: #f3f4f8; color: #1d2433; margin: 0;
       display: grid; place-items: center; min-height: 100vh }
main { background: #fff; border-radius: 14px; box-shadow: 0 8px 30px #1d243318; padding: 2rem; width: 24rem }
h1 { font-size: 1.25rem; margin: 0 0 .5rem } p { color: #5b6478; margin: .25rem 0 1rem }
button { width: 100%; padding: .7rem; margin: .35rem 0; border: 0; border-radius: 10px; background: #4c6ef5;
         color: #fff; font: inherit; cursor: pointer } button.quiet { background: #e8ebf4; color: #1d2433 }
input { width: 100%; box-sizing: border-box; padding: .7rem; font: inherit; border: 1px solid #d8dce6;
        border-radius: 10px; letter-spacing: .2em } [hidden] { display: none }
.error { color: #b42318 } dl { display: grid; grid-template-columns: auto 1fr; gap: .25rem 1rem; margin: 0 0 1rem }
dt { color: #5b6478 } dd { margin: 0; overflow-wrap: anywhere }
</style>
</head>
<body>
<main>
<h1>An application</h1>
<p class="error" id="error" hidden></p>
<section id="stranger" hidden>
<p>Nobody is signed in.</p>
<button id="sign-in">Sign in through provider {{ name }}</button>
</section>
<form id="pending" hidden>
<p>One step more: the code that your authenticator shows.</p>
<input id="code" inputmode="numeric" autocomplete="one-time-code" maxlength="6" required>
<button>Go on</button>
</form>
<section id="user" hidden>
<p>Signed in.</p>
<dl><dt>Name</dt><dd id="name"></dd><dt>Address</dt><dd id="email"></dd><dt>Accounts</dt><dd id="accounts"></dd></dl>
<button class="quiet" id="sign-out">Sign out</button>
</section>
</main>
<script>
const query = new URLSearchParams(location.search);
const service = query.get("service");
const here = `${location.origin}/app?service=${encodeURIComponent(service)}`;
const at = id => document.getElementById(id);

async function call(path, body) {
  const options = { credentials: "include" };
  if (body) Object.assign(options, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body)
  });
  const answer = await fetch(service + path, options);
  return { ok: answer.ok, body: await answer.json() };
}

function tell(text) { at("error").textContent = text; at("error").hidden = false; }

async function show() {
  if (query.get("error")) tell(`That did not work: ${query.get("error")}`);
  if (query.get("twoFactorRedirect") === "true") { at("pending").hidden = false; return; }
  const session = await call("/get-session");
  if (!session.ok) { at("stranger").hidden = false; return; }
  const accounts = await call("/list-accounts");
  at("name").textContent = session.body.user.name;
  at("email").textContent = session.body.user.email;
  at("accounts").textContent = accounts.body.map(account => account.providerId).join(", ");
  at("user").hidden = false;
}

at("sign-in").onclick = async () => {
  const wanted = { provider: "test", callbackURL: here, errorCallbackURL: here };
  const answer = await call("/sign-in/social", wanted);
  answer.ok ? location.assign(answer.body.url) : tell(answer.body.message);
};
at("pending").onsubmit = async event => {
  event.preventDefault();
  const answer = await call("/two-factor/verify-totp", { code: at("code").value });
  answer.ok ? location.assign(here) : tell(answer.body.message);
};
at("sign-out").onclick = async () => { await call("/sign-out", {}); location.assign(here); };
show().catch(fault => tell(`The service does not answer: ${fault}`));
</script>
</body>
</html>
"""


def application(name: str) -> str:
    """Return the page; the parameter `service` of its address says where the service is."""
    return render_template_string(_PAGE, name=name)
