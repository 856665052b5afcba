import { OperationRefusal } from "./refusal.ts";

export interface AskedLabels {
  readonly user?: string | undefined;
  readonly session?: string | undefined;
  /** `project=atlas` */
  readonly tag?: string | undefined;
}

/** What an operator looks for, by the names that labels are kept under. */
export function askedLabels({ user, session, tag }: AskedLabels): Readonly<Record<string, string>> {
  const [name = "", ...value] = tag?.split("=") ?? [];
  if (tag !== undefined && (name === "" || value.length === 0))
    throw new OperationRefusal(
      "invalid_input",
      `a tag is a name and a value, such as project=atlas; not "${tag}"`,
    );
  return {
    ...(user === undefined ? {} : { user }),
    ...(session === undefined ? {} : { session }),
    ...(tag === undefined ? {} : { [`tag:${name}`]: value.join("=") }),
  };
}
