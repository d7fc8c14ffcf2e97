// A program on the Node SDK of kimi-cli, whose executable is `sould-kimi`. It plays one conversation and prints a JSON line
// for everything it understood.
import { createExternalTool, createSession } from '@moonshot-ai/kimi-agent-sdk';
import { z } from 'zod';

const [executable, workDir] = process.argv.slice(2);
const say = (event) => process.stdout.write(`${JSON.stringify(event)}\n`);
const weather = createExternalTool({
  name: 'weather',
  description: 'Says how the weather is.',
  parameters: z.object({ place: z.string() }),
  handler: async ({ place }) => ({ output: `It rains in ${place}.`, message: 'looked' }),
});
const session = createSession({ workDir, executable, externalTools: [weather] });

async function play(text, onRequest) {
  const turn = session.prompt(text);
  let said = '';
  for await (const event of turn) {
    say({ event: event.type, payload: event.payload ?? event });
    if (event.type === 'ContentPart' && event.payload.type === 'text') said += event.payload.text;
    if (event.type === 'ApprovalRequest') await onRequest(turn, event.payload);
  }
  say({ event: 'result', said, status: (await turn.result).status });
}

const approve = (turn, request) => turn.approve(request.id, 'approve');
await play('a command', approve);
await play('the weather', approve);
session.model = 'second';
await play('another model', approve);
await play('interrupted', (turn) => turn.interrupt());
say({ event: 'session', id: session.sessionId, commands: session.slashCommands.length });
const before = Date.now();
await session.close();
say({ event: 'closed', after: Date.now() - before });
