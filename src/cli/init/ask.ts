import { matchesModel, modelPatternForm } from "../../base/models/model-pattern.ts";
import { plural } from "../../base/text/plural.ts";
import { shippedCatalog } from "../../config/catalog/shipped.ts";
import type { ModelConfig } from "../../config/schema.ts";
import { CommandError, type Terminal } from "../terminal/terminal.ts";
import { type ChosenExtra, databaseVariable, type InitChoices } from "./choices.ts";
import { ownListOf } from "./other-models.ts";

/** Asks for each choice. An empty reply selects the default in brackets. */
export async function askChoices(found: InitChoices, terminal: Terminal): Promise<InitChoices> {
  const vendors: InitChoices["vendors"][number][] = [];
  for (const { vendor } of found.vendors) {
    const models = await askModels(vendor.provider, vendor.variable, terminal);
    if (models !== null) vendors.push({ vendor, models });
  }
  const extra: ChosenExtra[] = [];
  for (const provider of found.extra) {
    const question = `${provider.provider} (${provider.variable ?? provider.baseUrl}): add this provider, and ask it for its models?`;
    if (!(await yesNo(question, true, terminal))) continue;
    const { models, note } = await ownListOf(provider, terminal);
    if (note !== null) terminal.note(`  ${note}`);
    extra.push({ ...provider, models: await chooseOf(provider.provider, models, terminal) });
  }
  const hasReal = vendors.length + extra.length > 0;
  const keepsDemo = hasReal ? await yesNo("Keep the demo models?", false, terminal) : true;
  const data = await text("Data folder", "sluice-data", /./, terminal);
  const usesPostgres = await yesNo("Use PostgreSQL, for several gateways?", false, terminal);
  const isOpen = await yesNo("Accept requests from other machines?", false, terminal);
  const publicUrl = isOpen
    ? await text("Public address, such as https://gateway.example.com", "none", webAddress, terminal)
    : "none";
  const issuer = await text("Sign-in: address of your OpenID Connect issuer", "none", webAddress, terminal);
  return {
    vendors,
    extra,
    keepsDemo,
    data: data === "sluice-data" ? null : data,
    storeVariable: usesPostgres ? databaseVariable : null,
    isOpen,
    publicUrl: publicUrl === "none" ? null : publicUrl,
    signIn: issuer === "none" ? null : await askSignIn(issuer, terminal),
  };
}

const capForm = /^\d{1,7}(?:\.\d{1,9})?\/(?:day|week|month)$/;
const webAddress = /^https?:\/\/[^\s@?#]+$/;

async function askSignIn(issuer: string, terminal: Terminal): Promise<InitChoices["signIn"]> {
  const clientId = await text("Sign-in: client id at the issuer", "sluice", /^\S+$/, terminal);
  const admin = await text(
    "Sign-in: your address, which becomes the administrator",
    "",
    /^\S+@\S+$/,
    terminal,
  );
  const createKeys = "Sign-in: can everyone who signs in create keys of their own?";
  const isOpen = await yesNo(createKeys, true, terminal);
  const keyCap = isOpen
    ? await text("Sign-in: cap of each of these keys, in credits", "5/day", capForm, terminal)
    : null;
  return { issuer, clientId, admin, keyCap };
}

const namesForm = /^(?:all|none|[\w.:@/*+-]{1,128}(?:\s*,\s*[\w.:@/*+-]{1,128})*)$/;

/** Null if the provider is not wanted. */
async function askModels(
  provider: string,
  variable: string,
  terminal: Terminal,
): Promise<readonly string[] | "catalog" | null> {
  const number = plural(shippedCatalog(provider)?.length ?? 0, "model");
  const question = `${provider} (${variable}, ${number}): all, none, or names with * and commas`;
  const reply = await text(question, "all", namesForm, terminal);
  if (reply === "none") return null;
  const names = reply.split(",").map((name) => name.trim());
  return reply === "all" || !names.every((name) => modelPatternForm.test(name)) ? "catalog" : names;
}

/** Asks which models of a provider's own list to serve. */
async function chooseOf(
  provider: string,
  models: readonly ModelConfig[],
  terminal: Terminal,
): Promise<readonly ModelConfig[]> {
  if (models.length === 0) return [];
  const question = `${provider}, ${plural(models.length, "model")} with prices: all, none, or names with * and commas`;
  const reply = await text(question, "all", namesForm, terminal);
  if (reply === "all" || reply === "none") return reply === "all" ? models : [];
  const patterns = reply.split(",").map((name) => name.trim());
  return models.filter(({ id }) => patterns.some((pattern) => matchesModel(pattern, id)));
}

async function yesNo(question: string, byDefault: boolean, terminal: Terminal): Promise<boolean> {
  const reply = await ask(`${question} [${byDefault ? "Y/n" : "y/N"}] `, /^(?:|y|yes|n|no)$/i, terminal);
  return reply === "" ? byDefault : /^y/i.test(reply);
}

async function text(question: string, byDefault: string, form: RegExp, terminal: Terminal): Promise<string> {
  const isValid = (reply: string) =>
    reply === "" ? byDefault !== "" : reply === byDefault || form.test(reply);
  const shown = byDefault === "" ? "" : ` [${byDefault}]`;
  return (await ask(`${question}${shown}: `, { test: isValid }, terminal)) || byDefault;
}

const maxTries = 3;

/** Asks again after an invalid reply, and gives up after some, since the input may not be a person. */
async function ask(
  question: string,
  form: { test(reply: string): boolean },
  terminal: Terminal,
): Promise<string> {
  for (let tries = 0; tries < maxTries; tries += 1) {
    const reply = (await terminal.ask(`${terminal.noteStyle.warn("?")} ${question}`)).trim();
    if (form.test(reply)) return reply;
    terminal.note(`  ${JSON.stringify(reply)} is not a valid choice`);
  }
  throw new CommandError("nothing was written");
}
