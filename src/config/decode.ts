import type { Static, TArray, TObject, TOptional, TProperties, TRecord, TSchema } from "@sinclair/typebox";
import { rememberPasswordIn } from "../base/secrets/secrets.ts";
import { type ByteSize, bytesIn } from "./byte-size.ts";
import { type Duration, milliseconds } from "./duration.ts";
import { encryptionKeyAt } from "./encryption-key.ts";
import { type LoadContext, secretAt, validFields } from "./problems.ts";
import { ifUnset, isSection, type Marks, secrecy, type Unit, unit } from "./schema/marks.ts";

/**
 * The options of a section as the program uses them, decoded by their schema: with defaults, in one unit, secrets
 * resolved. `max_list_items` is called `maxListItems`, and `heartbeat`, a duration, `heartbeatMs`. An unset option
 * without a default is null, and so is a secret that cannot be read; a list is empty.
 */
export type DecodedSection<Fields extends TProperties> = {
  readonly [Name in keyof Fields & string as SettingName<Name, Fields[Name]>]: IsAlwaysSet<
    Fields[Name]
  > extends true
    ? Value<Fields[Name]>
    : Value<Fields[Name]> | null;
};

type Camel<Name extends string> = Name extends `${infer Head}_${infer Rest}`
  ? `${Head}${Capitalize<Camel<Rest>>}`
  : Name;

type SettingName<
  Name extends string,
  Field,
> = `${Camel<Name>}${Field extends { readonly [unit]: infer Of extends Unit } ? Capitalize<Of> : ""}`;

type IsAlwaysSet<Field> =
  Field extends TOptional<TSchema>
    ? Field extends { readonly default: unknown } | TArray | TRecord
      ? true
      : false
    : Field extends { readonly [secrecy]: "secret" | "key" }
      ? false
      : true;

type Value<Field extends TSchema> = Field extends { readonly [unit]: Unit }
  ? number
  : Field extends { readonly [secrecy]: "key" }
    ? Uint8Array
    : Field extends TObject<infer Fields> & { readonly [isSection]: true }
      ? DecodedSection<Fields>
      : Unchanging<Static<Field>>;

type Unchanging<Configured> = Configured extends readonly (infer Item)[]
  ? readonly Item[]
  : Configured extends Record<string, unknown>
    ? Readonly<Configured>
    : Configured;

/** The marks and JSON Schema of one option. */
interface DescribedOption extends Marks {
  readonly default?: unknown;
  readonly type?: string;
  readonly properties?: TProperties;
  readonly patternProperties?: object;
}

/** An option's name in the program. */
export function settingName(name: string, field: TSchema): string {
  const camel = name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  const { [unit]: unitName = "" } = field as DescribedOption;
  return `${camel}${unitName.charAt(0).toUpperCase()}${unitName.slice(1)}`;
}

interface NamedOption {
  readonly name: string;
  readonly setting: string;
  readonly field: DescribedOption;
  /** Whether the value is used unchanged. */
  readonly isPlain: boolean;
}

/** Found once for each schema: a file can have thousands of models. */
const optionsOf = new WeakMap<TProperties, readonly NamedOption[]>();

function optionsIn(properties: TProperties): readonly NamedOption[] {
  return optionsOf.getOrInsertComputed(properties, (fields) =>
    Object.entries(fields).map(([name, field]) => {
      const { [unit]: unitName, [secrecy]: hides, [isSection]: isTable }: DescribedOption = field;
      const isPlain = unitName === undefined && hides === undefined && isTable === undefined;
      return { name, setting: settingName(name, field), field, isPlain };
    }),
  );
}

/** Decodes the fields of a section that have no problem. Secrets that cannot be read are reported to the context. */
export function decode<Fields extends TProperties>(
  schema: TObject<Fields>,
  configured: object | undefined,
  path: string,
  context: LoadContext,
): DecodedSection<Fields> {
  return decodeAccepted(schema, { ...validFields(configured, path, context.problems) }, path, context);
}

/** Decodes values that the schema has already accepted. */
export function decodeAccepted<Fields extends TProperties>(
  schema: TObject<Fields>,
  configured: Readonly<Record<string, unknown>>,
  path: string,
  context: LoadContext,
): DecodedSection<Fields> {
  const settings: Record<string, unknown> = {};
  for (const { name, setting, field, isPlain } of optionsIn(schema.properties)) {
    const value = configured[name] ?? field.default ?? emptyValue(field);
    settings[setting] =
      isPlain || value === null ? value : decodeValue(field, value, `${path}.${name}`, context);
  }
  // The cast holds because names and values follow from the schema by the rules of the type.
  return settings as DecodedSection<Fields>;
}

/** The casts hold because the schema has accepted the value. */
function decodeValue(option: DescribedOption, value: unknown, path: string, context: LoadContext): unknown {
  if (option[unit] === "ms") return milliseconds(value as Duration);
  if (option[unit] === "bytes") return bytesIn(value as ByteSize);
  if (option[isSection]) return decodeSection(option as TObject, value as object, path, context);
  if (option[secrecy] === "secret") return secretAt(path, String(value), context, option[ifUnset]);
  if (option[secrecy] === "address") rememberPasswordIn(String(value));
  return option[secrecy] === "key" ? encryptionKeyAt(path, String(value), context) : value;
}

function emptyValue({ type, patternProperties }: DescribedOption): unknown {
  if (type === "array") return [];
  return patternProperties === undefined ? null : {};
}

/** A section inside a section is used as a whole, or not at all. */
function decodeSection(
  schema: TObject,
  configured: object,
  path: string,
  context: LoadContext,
): object | null {
  return context.problems.isValidAt(path) ? decode(schema, configured, path, context) : null;
}
