const dark = matchMedia("(prefers-color-scheme: dark)");
const followSystem = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", followSystem);
followSystem();

// The page begins with the operations: the introduction is folded.
const foldedIntroduction = {
  wrapComponents: {
    InfoContainer: (Original, { React }) => (props) =>
      React.createElement(
        "details",
        { className: "introduction" },
        React.createElement("summary", null, React.createElement("h1", null, "Gatewright"), "Introduction"),
        React.createElement(Original, props),
      ),
  },
};

const FOR_PEOPLE = new Set(["pages", "account_pages", "organization_pages", "console", "mailbox"]);

// One way to authorize: browsers send the cookies by themselves, and pending and verifier tokens are bearer tokens too.
const oneToken = (contract) => {
  const description =
    "The `token` in the response of a sign-up or sign-in. Not needed if the browser keeps the cookie. " +
    "For /api-key/verify, the token of a verifier.";
  const securitySchemes = { bearerAuth: { ...contract.components.securitySchemes.bearerAuth, description } };
  const bearer = [{ bearerAuth: [] }];
  const paths = structuredClone(contract.paths);
  // Hosted pages are tried in a browser.
  const tags = contract.tags.filter((tag) => !FOR_PEOPLE.has(tag.name));
  for (const item of Object.values(paths))
    for (const [method, operation] of Object.entries(item))
      if (operation.tags?.some((tag) => FOR_PEOPLE.has(tag))) delete item[method];
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
