// Validate HTML: reads {name: document} from standard input, prints what is wrong, a line for each fault.
import { text } from "node:stream/consumers";
import { HtmlValidate } from "html-validate";

const validator = new HtmlValidate({
  extends: ["html-validate:recommended", "html-validate:a11y"],
  rules: {
    "doctype-style": ["error", { style: "lowercase" }],
    // A list of choices is a parameter that is repeated.
    "form-dup-name": ["error", { shared: ["radio", "button", "reset", "submit", "checkbox"] }],
    // The mailbox shows the text of emails, which has some before a signature.
    "no-trailing-whitespace": "off",
  },
});
for (const [name, html] of Object.entries(JSON.parse(await text(process.stdin)))) {
  const report = await validator.validateString(html);
  for (const result of report.results) {
    for (const message of result.messages) {
      console.log(`${name}: ${message.ruleId}: ${message.message} (${message.selector})`);
    }
  }
}
