/**
 * The panel's frame as the page has it before its script is there: the header, and a composer that takes words at once.
 *
 * `words` gives a text in the user's language, fit for HTML. Whatever is typed there goes into the composer that comes in its place (`main`). Nothing else is offered before it works.
 */
export const frame = (words: (english: string) => string): string => `<div class="panel" aria-busy="true">
<header class="header"><span class="title"><h1>sould</h1></span></header>
<main class="conversation">
<div class="transcript-frame"></div>
<div class="composer"><div class="field-frame"><textarea rows="1" dir="auto" aria-label="${words("Message")}" placeholder="${words("Ask, or describe a change. / for commands, @ for files and more")}"></textarea></div><div class="composer-bar"></div></div>
</main>
</div>`;
