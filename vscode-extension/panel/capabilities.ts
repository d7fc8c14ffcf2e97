/** What the panel shows and asks beyond the baseline of ACP, as `initialize` has it. Whoever holds the connection declares it. */
export const CAPABILITIES = {
  session: { notices: {}, compaction: {}, configOptions: { boolean: {} } },
  elicitation: { form: {} },
  auth: { terminal: true },
  _meta: { terminal_output: true, sould: { queue: true, sequence: true, review: true } },
};
