import type { Environment } from "../../base/system/environment.ts";
import { tomlString } from "../toml-text.ts";
import type { FoundVendor } from "./vendors.ts";

/** A provider requested on the command line, with its part of the configuration. */
export interface RequestedProvider extends FoundVendor {
  readonly toml: string;
}

/** Bedrock with AWS's own credentials, as its tools find them, or an API key. */
export function requestedBedrock(region: string, env: Environment): RequestedProvider {
  const variable = "AWS_BEARER_TOKEN_BEDROCK";
  const baseUrl = setIn(env, "AWS_ENDPOINT_URL_BEDROCK_RUNTIME");
  const credential = setIn(env, variable) === null ? 'credentials = "chain"' : `api_key = "env:${variable}"`;
  const toml = tableOf("bedrock", [`region = ${tomlString(region)}`, credential], baseUrl);
  const note =
    "plain ids can run in any region of AWS; profiles of one geography, such as eu., cost 10% more";
  return { provider: "bedrock", variable: `--bedrock ${region}`, baseUrl, note, toml };
}

/** Vertex AI with Google's application default credentials. */
export function requestedVertex(project: string, env: Environment): RequestedProvider {
  const baseUrl = setIn(env, "GOOGLE_VERTEX_BASE_URL");
  const lines = [`project = ${tomlString(project)}`, 'location = "global"', 'credentials = "adc"'];
  const toml = tableOf("vertex", lines, baseUrl);
  return { provider: "vertex", variable: `--vertex ${project}`, baseUrl, toml };
}

function setIn(env: Environment, name: string): string | null {
  return (env[name] ?? "").trim().replace(/\/+$/, "") || null;
}

function tableOf(kind: string, lines: readonly string[], baseUrl: string | null): string {
  const address = baseUrl === null ? [] : [`base_url = ${tomlString(baseUrl)}`];
  return [`[providers.${kind}]`, `kind = "${kind}"`, ...lines, ...address, 'models = "catalog"', ""].join(
    "\n",
  );
}
