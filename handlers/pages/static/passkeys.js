// Passkeys (Web Authentication Level 3): fills a form in with what the browser returns, and sends it.
"use strict";
{
  const bytes = (text) =>
    Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));
  const base64url = (buffer) =>
    btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  const withBytes = (list = []) => list.map((one) => ({ ...one, id: bytes(one.id) }));

  /** What is going on: at most one, because a browser refuses a second. */
  let current = new AbortController();

  async function fillIn(form, mediation) {
    current.abort();
    const { signal } = (current = new AbortController());
    const answer = await fetch(form.dataset.options, { credentials: form.dataset.credentials, signal });
    if (answer.status === 401 || answer.status === 403) return location.reload(); // The session has ended or aged.
    if (!answer.ok) throw new Error(answer.statusText);
    const options = await answer.json();
    const publicKey = { ...options, challenge: bytes(options.challenge) };
    let credential;
    if (form.dataset.passkey === "create") {
      publicKey.user = { ...options.user, id: bytes(options.user.id) };
      publicKey.excludeCredentials = withBytes(options.excludeCredentials);
      credential = await navigator.credentials.create({ publicKey, signal });
    } else {
      if (options.allowCredentials) publicKey.allowCredentials = withBytes(options.allowCredentials);
      // Waiting in the list of an input, it may outlive its challenge.
      const renewal = mediation && setTimeout(() => offer(form), options.timeout * 0.9);
      credential = await navigator.credentials.get({ publicKey, signal, mediation }).finally(() => clearTimeout(renewal));
    }
    const { response } = credential;
    form.elements.credential.value = credential.id;
    for (const name of ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"]) {
      if (form.elements[name] && response[name]) form.elements[name].value = base64url(response[name]);
    }
    if (form.elements.transports) form.elements.transports.value = (response.getTransports?.() ?? []).join(" ");
    const remember = document.querySelector("input[type=checkbox][name=rememberMe]");
    if (remember && form.elements.rememberMe) form.elements.rememberMe.value = String(remember.checked);
    form.dataset.sent = "true";
    form.submit();
  }

  /** Offers passkeys in the list below the input for the user's name. */
  async function offer(form) {
    if (!document.querySelector("input[autocomplete~=webauthn]")) return;
    if (!(await PublicKeyCredential.isConditionalMediationAvailable?.())) return;
    // The user did not request it, so errors are not shown.
    await fillIn(form, "conditional").catch(() => {});
  }

  function explain(form, error) {
    const texts = { AbortError: "cancelled", NotAllowedError: "cancelled", SecurityError: "forbidden", InvalidStateError: "known" };
    const shown = form.querySelector("[role=alert]");
    shown.textContent = form.dataset[texts[error.name]] ?? form.dataset.failed;
    shown.hidden = false;
  }

  for (const form of window.PublicKeyCredential ? document.querySelectorAll("form[data-passkey]") : []) {
    form.hidden = false;
    for (const hint of document.querySelectorAll("[data-without-passkeys]")) hint.hidden = true;
    const button = form.querySelector("button");
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      event.stopImmediatePropagation();
      if (button.getAttribute("aria-disabled")) return;
      form.querySelector("[role=alert]").hidden = true;
      button.setAttribute("aria-disabled", "true");
      try {
        await fillIn(form);
      } catch (error) {
        explain(form, error);
        button.removeAttribute("aria-disabled");
        offer(form);
      }
    });
    offer(form);
  }
}
