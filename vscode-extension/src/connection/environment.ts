/** The environment that the daemon's sessions get from this window. Pure. */

/** What VS Code sets for its own processes: in an agent's commands it would have other programs run as Node.js, or talk to this window. */
const ITS_OWN = /^(ELECTRON_.*|VSCODE_(?!PORTABLE$).*|SNAP|SNAP_.*|GDK_PIXBUF_.*|APPLICATION_INSIGHTS_.*)$/;

/** The user's: VS Code has asked their login shell for it, also when it was started from the desktop. */
export function usersEnvironment(own: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(own).filter(([name]) => !ITS_OWN.test(name)));
}
