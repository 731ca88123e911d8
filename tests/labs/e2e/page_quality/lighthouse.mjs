// Rate pages: `node lighthouse.mjs BROWSER {name: [url, cookie]} [CATEGORY...]` prints
// {name: {category: score of 100, url, broken, faults}}, for accessibility and best practices where none is named.
// A category has no score, but null, where one of its audits broke off: `broken` says which, and why.
import { launch } from "chrome-launcher";
import lighthouse from "lighthouse";
import puppeteer from "puppeteer-core";

const [browser, pages, ...named] = process.argv.slice(2);
const categories = named.length ? named : ["accessibility", "best-practices"];
const chrome = await launch({ chromePath: browser, chromeFlags: ["--headless=new", "--no-sandbox"] });
const jar = await puppeteer.connect({ browserURL: `http://127.0.0.1:${chrome.port}` });
const percent = (score) => (score === null ? null : Math.round(score * 100));

async function rate(url, cookie) {
  const [name, value] = cookie.split("=");
  await jar.deleteCookie(...(await jar.cookies()));
  if (cookie) await jar.setCookie({ name, value, domain: new URL(url).hostname, path: "/", sameSite: "Lax", httpOnly: true });
  const { lhr } = await lighthouse(url, {
    port: chrome.port,
    onlyCategories: categories,
    logLevel: "error",
  });
  const broken = Object.values(lhr.audits).filter((audit) => audit.scoreDisplayMode === "error");
  return {
    ...Object.fromEntries(categories.map((id) => [id, percent(lhr.categories[id].score)])),
    url: lhr.finalDisplayedUrl,
    faults: Object.values(lhr.audits).filter(({ score }) => score !== null && score < 0.9).map(({ id }) => id),
    broken: broken.map((audit) => `${audit.id}: ${audit.errorMessage}`),
  };
}

const scores = {};
for (const [name, [url, cookie]] of Object.entries(JSON.parse(pages))) {
  // On a busy machine the browser loses the record of a page load at times: Lighthouse asks to be run again then.
  for (let turn = 0; turn < 3; turn++) {
    scores[name] = await rate(url, cookie);
    if (categories.every((id) => scores[name][id] !== null)) break;
  }
}
await jar.disconnect();
chrome.kill();
console.log(JSON.stringify(scores));
