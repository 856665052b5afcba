import { rememberPasswordIn, rememberSecret } from "../../base/secrets/secrets.ts";
import type { Environment } from "../../base/system/environment.ts";

/** Variables that are read where they are used, here or by the runtime, and not by the configuration. */
const secretVariables = [
  "PGPASSWORD",
  "AWS_SECRET_ACCESS_KEY",
  "AWS_SESSION_TOKEN",
  "AWS_CONTAINER_AUTHORIZATION_TOKEN",
  "IDENTITY_HEADER",
];
const proxyVariables = ["http_proxy", "https_proxy", "all_proxy"];

export function rememberEnvironment(env: Environment): void {
  for (const name of secretVariables) rememberSecret(env[name]?.trim() ?? "");
  for (const name of proxyVariables)
    for (const address of [env[name], env[name.toUpperCase()]]) rememberPasswordIn(address ?? "");
}
