// The official client with its passkey plugin, bundled for a browser, where `client` is what an application imports.

import { passkeyClient } from "@better-auth/passkey/client";
import { createAuthClient } from "better-auth/client";
import { twoFactorClient } from "better-auth/client/plugins";

const baseURL = document.documentElement.dataset.gatewright;
window.client = createAuthClient({ baseURL, basePath: "/", plugins: [passkeyClient(), twoFactorClient()] });
