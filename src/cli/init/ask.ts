import { matchesModel, modelPatternForm } from "../../base/models/model-pattern.ts";
import { plural } from "../../base/text/plural.ts";
import { shippedCatalog } from "../../config/catalog/shipped.ts";
import type { ModelConfig } from "../../config/schema.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { type ChosenExtra, databaseVariable, type InitChoices } from "./choices.ts";
import { ownListOf } from "./other-models.ts";

/** Valid replies to a question. */
interface Form {
  /** Describes valid replies, for a person whose reply was not one. */
  readonly description: string;
  test(reply: string): boolean;
}

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
  const data = await text("Data folder", "sluice-data", anyText, terminal);
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

const anyText = formOf("a path", /./);
const oneWord = formOf("one word", /^\S+$/);
const emailAddress = formOf("an e-mail address, such as me@example.com", /^[^\s@]+@[^\s@]+$/);
const capForm = formOf(
  "an amount and a period, such as 5/day, 20/week or 100/month",
  /^\d{1,7}(?:\.\d{1,9})?\/(?:day|week|month)$/,
);
const webAddress = formOf("an address, such as https://gateway.example.com", /^https?:\/\/[^\s@?#]+$/);
const yesOrNo = formOf("y or n", /^(?:|y|yes|n|no)$/i);

function formOf(description: string, pattern: RegExp): Form {
  return { description, test: (reply) => pattern.test(reply) };
}

async function askSignIn(issuer: string, terminal: Terminal): Promise<InitChoices["signIn"]> {
  const clientId = await text("Sign-in: client id at the issuer", "sluice", oneWord, terminal);
  const admin = await text("Sign-in: e-mail address of the administrator", "", emailAddress, terminal);
  const createKeys = "Sign-in: can everyone who signs in create keys of their own?";
  const isOpen = await yesNo(createKeys, true, terminal);
  const keyCap = isOpen
    ? await text("Sign-in: cap of each of these keys, in credits", "5/day", capForm, terminal)
    : null;
  return { issuer, clientId, admin, keyCap };
}

const namesForm = formOf(
  "all, none, or model names with commas between them, such as gpt-6*, whisper-1",
  /^(?:all|none|[\w.:@/*+-]{1,128}(?:\s*,\s*[\w.:@/*+-]{1,128})*)$/,
);

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

export async function yesNo(question: string, byDefault: boolean, terminal: Terminal): Promise<boolean> {
  const reply = await ask(`${question} [${byDefault ? "Y/n" : "y/N"}] `, yesOrNo, terminal);
  return reply === "" ? byDefault : /^y/i.test(reply);
}

async function text(question: string, byDefault: string, form: Form, terminal: Terminal): Promise<string> {
  const test = (reply: string) => (reply === "" ? byDefault !== "" : reply === byDefault || form.test(reply));
  const description = byDefault === "none" ? `${form.description}, or none` : form.description;
  const shown = byDefault === "" ? "" : ` [${byDefault}]`;
  return (await ask(`${question}${shown}: `, { description, test }, terminal)) || byDefault;
}

/** Asks until the reply is valid, so that no earlier reply is lost. Ctrl-C and Ctrl-D end the command. */
async function ask(question: string, form: Form, terminal: Terminal): Promise<string> {
  for (;;) {
    const reply = (await terminal.ask(`${terminal.noteStyle.warn("?")} ${question}`)).trim();
    if (form.test(reply)) return reply;
    terminal.note(`  ${JSON.stringify(reply)} is not valid: enter ${form.description}`);
  }
}
