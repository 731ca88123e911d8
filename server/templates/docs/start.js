const dark = matchMedia("(prefers-color-scheme: dark)");
const followSystem = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", followSystem);
followSystem();

// The page begins with the operations: the introduction is folded. Only those in view are drawn, by where their list
// begins, which Swagger UI measures anew when the window changes its size.
const foldedIntroduction = {
  wrapComponents: {
    InfoContainer: (Original, { React }) => (props) =>
      React.createElement(
        "details",
        { className: "introduction", onToggle: () => window.dispatchEvent(new Event("resize")) },
        React.createElement("summary", null, React.createElement("h1", null, "Gatewright"), "Introduction"),
        React.createElement(Original, props),
      ),
  },
};

// The tags whose operations all respond with HTML.
const pageTags = (contract) => {
  const resolve = (node) =>
    node.$ref ? resolve(node.$ref.split("/").slice(1).reduce((target, key) => target[key], contract)) : node;
  const operations = Object.values(contract.paths).flatMap(Object.values).filter((operation) => operation.tags);
  const others = operations.filter(
    ({ responses }) => !Object.values(responses).some((response) => resolve(response).content?.["text/html"]),
  );
  const tagsOf = (some) => new Set(some.flatMap((operation) => operation.tags));
  return new Set([...tagsOf(operations)].filter((tag) => !tagsOf(others).has(tag)));
};

// One way to authorize: browsers send the cookies by themselves, and pending and verifier tokens are bearer tokens too.
const oneToken = (contract) => {
  const description =
    "The `token` in the response of a sign-up or sign-in. Not needed if the browser keeps the cookie. " +
    "For /api-key/verify, the token of a verifier.";
  const securitySchemes = { bearerAuth: { ...contract.components.securitySchemes.bearerAuth, description } };
  const bearer = [{ bearerAuth: [] }];
  const paths = structuredClone(contract.paths);
  // Hosted pages are tried in a browser.
  const pages = pageTags(contract);
  const tags = contract.tags.filter((tag) => !pages.has(tag.name));
  for (const item of Object.values(paths))
    for (const [method, operation] of Object.entries(item))
      if (operation.tags?.some((tag) => pages.has(tag))) delete item[method];
  for (const operation of Object.values(paths).flatMap(Object.values)) {
    if (operation.security?.some((one) => one.bearerAuth || one.pendingBearerAuth || one.verifierAuth)) operation.security = bearer;
  }
  return { ...contract, tags, paths, components: { ...contract.components, securitySchemes }, security: bearer };
};
const oneScheme = {
  statePlugins: { spec: { wrapActions: { updateJsonSpec: (update) => (contract) => update(oneToken(contract)) } } },
};

SwaggerUIBundle({
  url: new URL("../openapi.json", document.currentScript.src).href,
  dom_id: "#swagger-ui",
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  plugins: [foldedIntroduction, oneScheme],
  validatorUrl: null, // No validator elsewhere gets to see the contract.
});
