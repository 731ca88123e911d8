// Improves the pages; all of them work without it.
"use strict";

// A form is sent once, however often its button is pressed.
for (const form of document.querySelectorAll("form")) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) {
      event.preventDefault();
      return;
    }
    form.dataset.sent = "true";
    for (const button of form.querySelectorAll("button")) button.setAttribute("aria-disabled", "true");
  });
}
// The page may come back from the browser's cache, with its forms as they were sent.
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) {
    delete form.dataset.sent;
    for (const button of form.querySelectorAll("button")) button.removeAttribute("aria-disabled");
  }
});

// A button beside each password shows it.
for (const input of document.querySelectorAll("input[data-show]")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "reveal";
  const update = () => {
    const shown = input.type === "text";
    button.textContent = shown ? input.dataset.hide : input.dataset.show;
    button.setAttribute("aria-pressed", String(shown));
  };
  button.addEventListener("click", () => {
    input.type = input.type === "password" ? "text" : "password";
    update();
    input.focus();
  });
  input.form.addEventListener("submit", () => { input.type = "password"; });
  update();
  input.after(button);
  input.parentElement.classList.add("revealable");
}

// The length of a new password, while it is typed.
for (const input of document.querySelectorAll("input[data-count]")) {
  const output = document.createElement("p");
  output.className = "hint count";
  output.setAttribute("aria-live", "polite");
  input.parentElement.append(output);
  input.addEventListener("input", () => {
    const number = [...input.value.normalize("NFKC")].length;
    const minimum = Number(input.dataset.minimum);
    output.textContent = number
      ? input.dataset.count.replace("{number}", number).replace("{minimum}", minimum) : "";
    output.classList.toggle("enough", number >= minimum);
  });
}

// Copy, download or print what is shown once.
for (const button of document.querySelectorAll("button[data-copy]")) {
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).innerText.trim());
    button.textContent = button.dataset.done;
  });
}
for (const button of document.querySelectorAll("button[data-print]")) {
  button.hidden = false;
  button.addEventListener("click", () => print());
}
for (const button of document.querySelectorAll("button[data-download]")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    const link = document.createElement("a");
    const text = document.getElementById(button.dataset.download).innerText.trim() + "\n";
    link.href = URL.createObjectURL(new Blob([text], {type: "text/plain"}));
    link.download = button.dataset.name;
    link.click();
    URL.revokeObjectURL(link.href);
  });
}

// A file fills in a field, which is sent.
for (const part of document.querySelectorAll("[data-file]")) {
  part.hidden = false;
  const input = part.querySelector("input");
  input.addEventListener("change", async () => {
    document.getElementById(part.dataset.file).value = (await input.files[0]?.text()) ?? "";
  });
}

const focused = document.querySelector(".summary[autofocus]");
if (focused) focused.focus();
