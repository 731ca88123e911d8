// The main journeys in Firefox, by WebDriver BiDi: `node journey.mjs BROWSER ORIGIN ADMINISTRATOR PASSWORD PICTURES`.
// Ends with an error at the first step that fails, and if a page logged an error. PICTURES is a folder for screenshots.
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { TOTP } from "otpauth";
import puppeteer from "puppeteer-core";

const [executablePath, origin, administrator, password, pictures] = process.argv.slice(2);
const ADA = "ada.firefox@example.com";
const APPLICATION = "https://app.example.com";
const faults = [];
let page;

async function profile() {
  const context = await browser.createBrowserContext();
  page = await context.newPage();
  await page.setViewport({ width: 1280, height: 900 });
  page.on("pageerror", (error) => faults.push(`${page.url()}: ${error}`));
  page.on("console", (message) => {
    if (["error", "warn"].includes(message.type())) faults.push(`${page.url()}: ${message.text()}`);
  });
}

const open = (path) => page.goto(origin + path);
const shown = (selector) => page.waitForSelector(selector, { visible: true });
const text = (selector) => page.$eval(selector, (element) => element.innerText);
const path = () => new URL(page.url()).pathname;
const code = (key) => new TOTP({ secret: key.replaceAll(/\s/g, "") }).generate();

async function picture(name) {
  await page.screenshot({ path: `${pictures}/${name}.png`, fullPage: true });
}

async function press(selector) {
  await Promise.all([page.waitForNavigation(), page.click(selector)]);
}

async function send(action, typed = {}) {
  const form = `main form[action="${action}"]`;
  for (const [name, value] of Object.entries(typed)) {
    await page.locator(`${form} [name="${name}"]`).fill(value);
  }
  await press(`${form} button[type=submit]`);
}

async function signIn(email, callback = "/account") {
  await open(`/account/sign-in?callbackURL=${encodeURIComponent(callback)}`);
  await send("/account/sign-in", { identifier: email, password });
}

async function signUpAndIn() {
  await open("/account/sign-up");
  await picture("sign-up");
  await page.type("[name=password]", password);
  await page.click(".reveal");
  assert.equal(await page.$eval("[name=password]", (field) => field.type), "text");
  await send("/account/sign-up", { name: "Ada Lovelace", email: ADA, password });
  assert.equal(path(), "/account");
  await open("/account/sign-out");
  await send("/account/sign-out");
  await open("/account/sign-in");
  await send("/account/sign-in", { identifier: ADA, password: "wrong" });
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("role")), "alert");
  await picture("sign-in-wrong");
  await send("/account/sign-in", { password });
  assert.equal(path(), "/account");
  await picture("account");
}

async function secondFactor() {
  await open("/account/second-factor?step=totp");
  await send("/account/second-factor/enable", { password });
  const key = await text("#key");
  await picture("second-factor");
  await send("/account/second-factor/confirm", { code: code(key) });
  await open("/account/second-factor?step=backup-codes");
  await send("/account/second-factor/backup-codes", { password });
  const [first] = await page.$$eval("#codes li", (items) => items.map((item) => item.innerText));
  await profile();
  await signIn(ADA);
  assert.equal(path(), "/account/two-factor");
  await send("/account/two-factor", { code: "000000" });
  await picture("two-factor-wrong");
  await open("/account/two-factor?method=backup");
  await send("/account/two-factor", { code: first });
  assert.equal(path(), "/account");
}

async function account() {
  await open("/account/profile");
  await send("/account/profile", { name: "Ada King" });
  await shown("main [role=status]");
  assert.equal(await page.$eval("[name=name]", (field) => field.value), "Ada King");
  for (const name of ["email", "password", "sessions", "passkeys", "api-keys", "organizations", "history", "data"]) {
    const response = await open(`/account/${name}`);
    assert.equal(response.status(), 200, name);
    await picture(`account-${name}`);
  }
}

async function leave() {
  await page.setRequestInterception(true);
  page.on("request", (request) =>
    request.url().startsWith(APPLICATION)
      ? request.respond({ status: 200, contentType: "text/html", body: "<title>Application</title>" })
      : request.continue(),
  );
  await open(`/account/sign-in?callbackURL=${encodeURIComponent(`${APPLICATION}/welcome`)}`);
  await page.locator('main form[action="/account/sign-in"] [name=identifier]').fill(administrator);
  await page.locator('main form[action="/account/sign-in"] [name=password]').fill(password);
  await page.click('main form[action="/account/sign-in"] button[type=submit]');
  await page.waitForFunction(() => document.title === "Application", { timeout: 20_000 });
  assert.equal(page.url(), `${APPLICATION}/welcome`);
}

async function administer() {
  await signIn(administrator, "/console");
  assert.equal(path(), "/console");
  await picture("console");
  await page.keyboard.press("/");
  assert.equal(await page.evaluate(() => document.activeElement.name), "search");
  await page.keyboard.type("ada.firefox");
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
  const user = path();
  assert.match(user, /^\/console\/users\/\w{32}$/);
  await page.keyboard.press("?");
  await shown("#keys[open]");
  await page.keyboard.press("Escape");
  await page.waitForSelector("#keys:not([open])");
  await picture("console-user");
  await open(`${user}/ban`);
  await page.click("[name=lasts][value='7']");
  await send(`${user}/ban`, { reason: "Sends spam" });
  await shown("[role=status]");
  assert.match(await text("main"), /Sends spam/);
  await picture("console-user-banned");
  await press(`main form[action="${user}/unban"] button[type=submit]`);
  assert.match(await text("[role=status]"), /lifted/);
  await open("/console/users");
  await page.keyboard.press("j");
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
  await open("/console/users?search=firefox");
  await picture("console-users");
  await page.click("[data-select]");
  await press("button[value=end-sessions]");
  await press("main form[method=post] button[type=submit]");
  await picture("console-users-ended");
  for (const name of ["audit", "mail", "settings", "doctor", "keys", "api-keys", "organizations", "applications", "webhooks"]) {
    const response = await open(`/console/${name}`);
    assert.equal(response.status(), 200, name);
    await picture(`console-${name}`);
  }
  await page.setViewport({ width: 360, height: 780 });
  await open("/console/users");
  await page.click("[popovertarget=sections]");
  await shown("#sections a");
  await picture("console-phone-menu");
  await page.keyboard.press("Escape");
  await page.waitForSelector("#sections a", { hidden: true });
  await page.click("[popovertarget=account-menu]");
  await shown("#account-menu a");
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth));
}

await mkdir(pictures, { recursive: true });
const browser = await puppeteer.launch({ browser: "firefox", executablePath, headless: true });
try {
  await profile();
  for (const journey of [signUpAndIn, secondFactor, account, profile, administer, profile, leave]) {
    await journey();
    console.log(journey.name);
  }
  assert.deepEqual(faults, []);
} catch (error) {
  await picture("failed").catch(() => {});
  console.error(page.url(), error);
  process.exitCode = 1;
} finally {
  await browser.close();
}
