/** Whether code may load the bundled model, which is large: what only uses other parts of the engine does not wait for it. */
export const asksForModel = (code: string): boolean => code.includes("minisgl") && /llm|LLM|[eE]ngine|model|tokenizer|Scheduler/.test(code);
