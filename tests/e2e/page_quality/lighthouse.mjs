// Rate pages: `node lighthouse.mjs BROWSER {name: [url, cookie]}` prints {name: {category: score of 100, url, broken}}.
// A category has no score, but null, where one of its audits broke off: `broken` says which, and why.
import { launch } from "chrome-launcher";
import lighthouse from "lighthouse";

const [browser, pages] = process.argv.slice(2);
const categories = ["accessibility", "best-practices", "performance"];
const chrome = await launch({ chromePath: browser, chromeFlags: ["--headless=new", "--no-sandbox"] });
const percent = (score) => (score === null ? null : Math.round(score * 100));
const scores = {};
for (const [name, [url, cookie]] of Object.entries(JSON.parse(pages))) {
  const { lhr } = await lighthouse(url, {
    port: chrome.port,
    onlyCategories: categories,
    extraHeaders: cookie ? { Cookie: cookie } : undefined,
    logLevel: "error",
  });
  scores[name] = Object.fromEntries(categories.map((id) => [id, percent(lhr.categories[id].score)]));
  scores[name].url = lhr.finalDisplayedUrl;
  scores[name].broken = Object.values(lhr.audits)
    .filter((audit) => audit.scoreDisplayMode === "error")
    .map((audit) => `${audit.id}: ${audit.errorMessage}`);
}
chrome.kill();
console.log(JSON.stringify(scores));
