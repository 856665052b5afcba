export interface AskedLabels {
  readonly user?: string | undefined;
  readonly session?: string | undefined;
  /** `project=atlas` */
  readonly tag?: string | undefined;
}

/** What an operator looks for, by the names that labels are kept under. */
export function askedLabels({ user, session, tag }: AskedLabels): Readonly<Record<string, string>> {
  const [name = "", ...value] = tag?.split("=") ?? [];
  return {
    ...(user === undefined ? {} : { user }),
    ...(session === undefined ? {} : { session }),
    ...(tag === undefined ? {} : { [`tag:${name}`]: value.join("=") }),
  };
}
