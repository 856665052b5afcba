import { discoverModels } from "../../admin/models/discover-models.ts";
import type { Environment } from "../../base/system/environment.ts";
import type { RequestedProvider } from "../../config/environment/requested.ts";
import { loadSettings } from "../../config/load.ts";
import { tomlString } from "../../config/toml-text.ts";
import { tableText } from "../import/toml.ts";
import { localBaseUrl } from "../local-base-url.ts";
import { CommandError } from "../terminal/terminal.ts";

const name = "local";

/** The models of Ollama, or of any server with OpenAI's API at OLLAMA_HOST. They are free. */
export async function discoverLocalModels(env: Environment): Promise<RequestedProvider> {
  const baseUrl = localBaseUrl(env);
  const table = [
    `[providers.${name}]`,
    'kind = "openai-compatible"',
    `base_url = ${tomlString(baseUrl)}`,
    "",
  ];
  const { settings } = loadSettings({ text: table.join("\n"), env });
  const { entries, failures } = await discoverModels([...settings.providers.values()], settings, {});
  const [failure] = failures;
  if (failure !== undefined)
    throw new CommandError(
      `--local: ${baseUrl} ${failure.problem}; start Ollama, or set OLLAMA_HOST to its address`,
    );
  if (entries.length === 0)
    throw new CommandError(
      `--local: ${baseUrl} has no models; get one, for example with \`ollama pull llama3.2\``,
    );
  const models = entries.map((entry) => tableText("[[models]]", entry));
  return { provider: name, variable: "--local", baseUrl, toml: [...table, ...models].join("\n") };
}
