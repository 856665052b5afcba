import { shellQuoted, shellWord } from "../../../base/text/shell-word.ts";
import type { PageRoute } from "./routes.ts";

export const codeLanguages = ["curl", "Python", "TypeScript"] as const;
export type CodeLanguage = (typeof codeLanguages)[number];

/** A request as it would be sent. */
export interface CodeRequest {
  readonly origin: string;
  /** Such as `/token/v1/messages`. */
  readonly path: string;
  readonly route: PageRoute;
  readonly body: Record<string, unknown> | FormData | string;
}

/** A program that sends the request, with the key in `SLUICE_KEY`. Null for a form outside curl. */
export function codeOf(language: CodeLanguage, request: CodeRequest): string | null {
  const { body, route } = request;
  if (language === "curl")
    return curlOf(request) + (route.read === undefined ? " \\\n  --output speech" : "");
  if (body instanceof FormData || typeof body === "string") return null;
  // Fields without a value are not sent.
  const sent: Record<string, unknown> = JSON.parse(JSON.stringify(body));
  const write = language === "Python" ? pythonCode : typescriptCode;
  return write(request, sent, route.read === undefined);
}

export function curlOf({ origin, path, body }: Omit<CodeRequest, "route">): string {
  const lines = [`curl ${shellWord(origin + path)}`, '-H "Authorization: Bearer $SLUICE_KEY"'];
  if (body instanceof FormData) {
    body.forEach((value, name) => {
      const text = typeof value === "string" ? value : `@${value.name}`;
      lines.push(`-F ${shellQuoted(`${name}=${text}`)}`);
    });
  } else {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    lines.push('-H "Content-Type: application/json"', `-d ${shellQuoted(text)}`);
  }
  return lines.join(" \\\n  ");
}

/** OpenAI's clients want `/v1` in the address, Anthropic's do not. */
function baseOf({ origin, path }: CodeRequest, client: "OpenAI" | "Anthropic"): string {
  const address = origin + path.slice(0, path.indexOf("/v1/"));
  return client === "OpenAI" ? `${address}/v1` : address;
}

function pythonCode(request: CodeRequest, body: Record<string, unknown>, isSound: boolean): string {
  const { sdk } = request.route;
  if (sdk === undefined) {
    return `import os
import requests

response = requests.post(
    ${JSON.stringify(request.origin + request.path)},
    headers={"Authorization": f"Bearer {os.environ['SLUICE_KEY']}"},
    json=${pythonLiteral(body, "    ")},
)
${isSound ? 'open("speech", "wb").write(response.content)' : "print(response.json())"}`;
  }
  const { client, call } = sdk;
  const key = client === "OpenAI" ? "api_key" : "auth_token";
  const fields = Object.entries(body).map(([name, value]) => `    ${name}=${pythonLiteral(value, "    ")},`);
  return `import os
from ${client.toLowerCase()} import ${client}

client = ${client}(base_url=${JSON.stringify(baseOf(request, client))}, ${key}=os.environ["SLUICE_KEY"])
response = client.${call}(
${fields.join("\n")}
)
${body["stream"] === true ? "for event in response:\n    print(event)" : "print(response)"}`;
}

/** JSON is also a literal of Python, except for three words. */
export function pythonLiteral(value: unknown, indent = ""): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const inner = `${indent}    `;
  const items = Array.isArray(value)
    ? value.map((item) => pythonLiteral(item, inner))
    : Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${pythonLiteral(item, inner)}`);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (items.length === 0) return open + close;
  return `${open}\n${items.map((item) => `${inner}${item},\n`).join("")}${indent}${close}`;
}

function typescriptCode(request: CodeRequest, body: Record<string, unknown>, isSound: boolean): string {
  const { sdk } = request.route;
  const text = JSON.stringify(body, null, 2);
  if (sdk === undefined) {
    const shown = isSound ? 'await Bun.write("speech", response);' : "console.log(await response.json());";
    return `const response = await fetch(${JSON.stringify(request.origin + request.path)}, {
  method: "POST",
  headers: { Authorization: \`Bearer \${process.env.SLUICE_KEY}\`, "Content-Type": "application/json" },
  body: JSON.stringify(${text.replaceAll("\n", "\n  ")}),
});
${shown}`;
  }
  const { client, call } = sdk;
  const [name, key] = client === "OpenAI" ? ["openai", "apiKey"] : ["@anthropic-ai/sdk", "authToken"];
  return `import ${client} from "${name}";

const client = new ${client}({ baseURL: ${JSON.stringify(baseOf(request, client))}, ${key}: process.env.SLUICE_KEY });
const response = await client.${call}(${text});
${body["stream"] === true ? "for await (const event of response) console.log(event);" : "console.log(response);"}`;
}
