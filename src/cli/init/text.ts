import { providerToml } from "../../config/environment/toml.ts";
import { builtInConfig } from "../../config/source.ts";
import { tomlString } from "../../config/toml-text.ts";
import { tableText } from "../import/toml.ts";
import { clientSecretVariable, type ExtraProvider, type InitChoices, teamAccount } from "./choices.ts";

/** The built-in configuration with its comments, adapted to the choices. */
export function initText(choices: InitChoices): string {
  const { vendors, extra, keepsDemo } = choices;
  const vendorProviders = new Set(vendors.map(({ vendor }) => vendor.provider));
  let text = builtInConfig;
  if (choices.isOpen) text = text.replace('host = "127.0.0.1"', 'host = "0.0.0.0"  ');
  if (choices.data !== null)
    text = text.replace(/^# data = "sluice-data" /m, `data = ${tomlString(choices.data)} `);
  if (choices.storeVariable !== null)
    text = text.replace(/^# \[store\] .*\n# url = .*$/m, `[store]\nurl = "env:${choices.storeVariable}"`);
  for (const provider of vendorProviders)
    text = text.replace(new RegExp(`^# \\[providers\\.${provider}\\]\n(?:# .*\n)+\n`, "m"), "");
  if (!keepsDemo) text = withoutDemo(text);
  const providers = [
    ...vendors.map(({ vendor, models }) => providerToml(vendor, models)),
    ...extra.map(extraToml),
  ];
  const modelsHead = /^# ── Models: /m;
  const written = providers.length === 0 ? "" : `${providers.join("\n")}\n\n`;
  const models = extra.flatMap((provider) => provider.models.map((model) => tableText("[[models]]", model)));
  const listed = models.length === 0 ? "" : `\n\n${models.join("\n").trimEnd()}`;
  return text.replace(modelsHead, (head) => `${written}${head}`).trimEnd() + listed + adminText(choices);
}

/** Removes the demo provider and its models, up to the next comment at the start of a line. */
function withoutDemo(text: string): string {
  return text
    .replace(
      /^# Sluice's configuration\. It works as it is.*\n# to every client\. /m,
      "# Sluice's configuration. ",
    )
    .replace(/^\[providers\.demo\]\nkind = "demo" .*\n\n/m, "")
    .replaceAll(/^\[\[models\]\]\nid = "demo-\w+"\n(?:[a-z_]+ = .*\n)+\n/gm, "");
}

export function extraToml({ provider, variable, kind, baseUrl }: ExtraProvider): string {
  const added = variable === null ? "adds them, free" : "adds those whose price is known";
  return [
    `# \`sluice models discover ${provider}\` lists its models, and --write ${added}.`,
    `[providers.${provider}]`,
    `kind = ${tomlString(kind)}`,
    `base_url = ${tomlString(baseUrl)}`,
    ...(variable === null ? [] : [`api_key = "env:${variable}"`]),
    "",
  ].join("\n");
}

function adminText({ publicUrl, signIn }: InitChoices): string {
  if (publicUrl === null && signIn === null) return "\n";
  const oidc =
    signIn === null
      ? []
      : [
          `admins = [${tomlString(signIn.admin)}]`,
          ...(signIn.keyCap === null
            ? []
            : [
                'members = "everyone"          # everyone who signs in sees their own keys',
                `member_keys = { account = "${teamAccount}", cap = ${tomlString(signIn.keyCap)} }`,
              ]),
          "",
          "[admin.oidc]                  # docs/sign-in.md",
          `issuer = ${tomlString(signIn.issuer)}`,
          `client_id = ${tomlString(signIn.clientId)}`,
          `client_secret = "env:${clientSecretVariable}"`,
        ];
  const address = publicUrl === null ? [] : [`public_url = ${tomlString(publicUrl)}`];
  return [
    "",
    "",
    "",
    "[admin]                       # the dashboard and its API",
    ...address,
    ...oidc,
    "",
  ].join("\n");
}
