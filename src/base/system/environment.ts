/** Environment variables: the process's, or a test's. */
export type Environment = Readonly<Record<string, string | undefined>>;
