/** Credentials that are one header, the same for every request. */
export type StaticCredential = (apiKey: string) => Readonly<Record<string, string>>;

export const bearer: StaticCredential = (apiKey) => ({ authorization: `Bearer ${apiKey}` });

export const apiKeyHeader: StaticCredential = (apiKey) => ({ "x-api-key": apiKey });
