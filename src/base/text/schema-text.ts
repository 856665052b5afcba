/** Describes the expected value if JSON Schema cannot. A symbol, so that it is not printed with the schema. */
export const expectedText: unique symbol = Symbol("expected text");

/** The part of a JSON schema that can be described as text. */
export interface DescribedSchema {
  readonly type?: string;
  readonly anyOf?: readonly DescribedSchema[];
  readonly const?: unknown;
  readonly items?: DescribedSchema;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly [expectedText]?: string;
}

/** Describes the expected value, to be used after "must be". */
export function expectation(schema: DescribedSchema): string {
  if (schema[expectedText] !== undefined) return schema[expectedText];
  if (schema.anyOf !== undefined) return alternatives(schema.anyOf);
  if (schema.enum !== undefined) return choice(schema.enum);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  switch (schema.type) {
    case "integer":
      return `a whole number${bounds(schema)}`;
    case "number":
      return `a number${bounds(schema)}`;
    case "boolean":
      return "true or false";
    case "array":
      return schema.minItems === undefined ? "a list" : "a list with at least one element";
    case "object":
      return "a table";
    case "null":
      return "null";
    default:
      if (schema.format === "date-time") return 'a date and time such as "2027-01-31T12:00:00Z"';
      if (schema.pattern !== undefined)
        return patternText[schema.pattern] ?? "a string in a different format";
      return lengthText(schema);
  }
}

function lengthText({ minLength, maxLength }: DescribedSchema): string {
  if (maxLength === undefined) return minLength === undefined ? "a string" : "a non-empty string";
  return `a string of ${minLength === undefined ? "at most" : `${minLength} to`} ${maxLength} characters`;
}

/** A person cannot be expected to read them. */
const patternText: Readonly<Record<string, string>> = {
  "^https?://": "a URL that starts with http:// or https://",
  "^[a-z0-9-]+$": "lowercase letters, digits and - only",
  "^[a-z0-9.-]+$": "lowercase letters, digits, . and - only",
  "^[A-Za-z0-9-]+$": "letters, digits and - only",
  "^[A-Za-z0-9.-]+$": "letters, digits, . and - only",
  "^[A-Za-z0-9:/_-]+@(?:\\d+|DRAFT)$": 'an id and its version such as "gr1234abcd@3"',
};

function alternatives(schemas: readonly DescribedSchema[]): string {
  const isChoice = schemas.every((schema) => schema.const !== undefined);
  if (isChoice) return choice(schemas.map((schema) => schema.const));
  return schemas.map(expectation).join(" or ");
}

function choice(values: readonly unknown[]): string {
  return `one of ${values.map((value) => JSON.stringify(value)).join(", ")}`;
}

function bounds(schema: DescribedSchema): string {
  if (schema.exclusiveMinimum !== undefined) return ` above ${schema.exclusiveMinimum}`;
  if (schema.minimum === undefined) return "";
  return schema.maximum === undefined
    ? ` of at least ${schema.minimum}`
    : ` from ${schema.minimum} to ${schema.maximum}`;
}
