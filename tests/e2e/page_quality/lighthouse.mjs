// Rate pages: `node lighthouse.mjs BROWSER {name: [url, cookie]}` prints {name: {category: score of 100, url}}.
import { launch } from "chrome-launcher";
import lighthouse from "lighthouse";

const [browser, pages] = process.argv.slice(2);
const categories = ["accessibility", "best-practices", "performance"];
const chrome = await launch({ chromePath: browser, chromeFlags: ["--headless=new", "--no-sandbox"] });
const scores = {};
for (const [name, [url, cookie]] of Object.entries(JSON.parse(pages))) {
  const { lhr } = await lighthouse(url, {
    port: chrome.port,
    onlyCategories: categories,
    extraHeaders: cookie ? { Cookie: cookie } : undefined,
    logLevel: "error",
  });
  scores[name] = Object.fromEntries(categories.map((id) => [id, Math.round(lhr.categories[id].score * 100)]));
  scores[name].url = lhr.finalDisplayedUrl;
}
chrome.kill();
console.log(JSON.stringify(scores));
