
// Improves the console; all of it works without this script.
for (const button of document.querySelectorAll("button[data-copy-text]")) {
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.dataset.copyText);
    button.textContent = button.dataset.done;
  });
}
for (const form of document.querySelectorAll("form[data-filters]")) {
  form.addEventListener("change", () => form.requestSubmit());
}
for (const box of document.querySelectorAll("input[data-select-all]")) {
  box.hidden = false;
  box.addEventListener("change", () => {
    for (const other of box.form.querySelectorAll("input[data-select]")) other.checked = box.checked;
  });
}

// Keys that walk a list, unless the user is typing.
addEventListener("keydown", (event) => {
  if (event.key === "Escape" && event.target.matches("[data-search]")) event.target.blur();
  const typing = event.target.closest("input:not([type='checkbox'], [type='radio']), select, textarea, dialog[open]");
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const rows = [...document.querySelectorAll(".row-link")];
  const current = rows.indexOf(document.activeElement);
  if (event.key === "/") document.querySelector("[data-search]").focus();
  else if (event.key === "j") rows[Math.min(current + 1, rows.length - 1)]?.focus();
  else if (event.key === "k") rows[Math.max(current - 1, 0)]?.focus();
  else if (event.key === "?") document.getElementById("keys").showModal();
  else return;
  event.preventDefault();
});
