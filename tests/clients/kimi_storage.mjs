// What a program on the Node SDK of kimi-cli finds in kimi-cli's directory: it prompts a session, lists what is there, reads
// its events, cuts a fork after the first turn and goes on in that. It prints what it found as JSON.
import { randomUUID } from 'node:crypto';
import { createSession, forkSession, listSessions, parseSessionEvents } from '@moonshot-ai/kimi-agent-sdk';

const [executable, workDir, old] = process.argv.slice(2);

async function prompt(sessionId, ...texts) {
  const session = createSession({ workDir, executable, sessionId });
  for (const text of texts) {
    for await (const event of session.prompt(text)) if (event.type === 'error') throw new Error(event.message);
  }
  await session.close();
}

const asked = async (sessionId) =>
  (await parseSessionEvents(workDir, sessionId))
    .filter((event) => event.type === 'TurnBegin')
    .map((event) => event.payload.user_input);

const id = randomUUID();
await prompt(old, 'after kimi-cli');
await prompt(id, 'one', 'two');
const fork = await forkSession({ workDir, sourceSessionId: id, turnIndex: 0 });
await prompt(fork.sessionId, 'another two');
const titles = (await listSessions(workDir)).map((session) => session.brief);
const turns = await Promise.all([old, id, fork.sessionId].map(asked));
process.stdout.write(JSON.stringify({ titles: titles.sort(), turns }));
