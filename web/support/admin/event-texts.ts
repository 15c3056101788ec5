import { messages } from '../messages.js';

const { history: texts } = messages;

/** An actor for readers: words for `cli` and `retention`; an e-mail address or another name is shown as it is stored. */
export const actorText = (actor: string) => texts.actors[actor] ?? actor;

/** An action for readers. An action that this page does not know is shown as it is stored. */
export const actionText = (action: string) => texts.actions[action] ?? action;
