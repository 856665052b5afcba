/** Azure needs a file, because an operator chooses the names of its models. */
export const azureVariables = { key: "AZURE_OPENAI_API_KEY", address: "AZURE_OPENAI_ENDPOINT" } as const;
