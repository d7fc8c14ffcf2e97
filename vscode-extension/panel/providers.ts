/** The model providers that `sould login` knows without a configuration, as it names them and as people do. */
export const PROVIDERS = { kimi: "Kimi (Moonshot)", openai: "OpenAI", openrouter: "OpenRouter" } as const;

export const NAMES = Object.keys(PROVIDERS) as (keyof typeof PROVIDERS)[];
