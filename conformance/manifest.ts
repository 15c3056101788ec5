import { NotChecked, once } from './check.ts';
import type { Answer } from './http.ts';
import { at, isObject, described } from './shape.ts';

/** The manifest as the first caller gets it, whatever came. */
export const manifestAnswer = once((service) => service.ask('GET', '/v1/manifest'));

/** The manifest that is published; all about it is not checked where none is. */
export const published = once(async (service): Promise<Answer> => {
  const answer = await manifestAnswer(service).catch(() => {
    throw new NotChecked('the manifest was not answered');
  });
  if (at(answer.json, 'code') === 'no_version_published') throw new NotChecked('no version is published');
  if (answer.status !== 200 || !isObject(answer.json))
    throw new NotChecked(`there is no manifest to look at: ${described(answer)}`);
  return answer;
});

export interface Signed {
  /** The exact text that is signed. */
  readonly text: string;
  readonly content: Record<string, unknown>;
}

/** What is signed: the text, and what it says. */
export const signed = once(async (service): Promise<Signed> => {
  const text = at((await published(service)).json, 'signed');
  if (typeof text !== 'string') throw new NotChecked('the manifest has no text that is signed');
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    throw new NotChecked('the signed text is no JSON');
  }
  if (!isObject(content)) throw new NotChecked('the signed text is no JSON object');
  return { text, content };
});

export interface Signature {
  readonly key_id: string;
  readonly signature: string;
}

export const signatures = once(async (service): Promise<Signature[]> => {
  const all = at((await published(service)).json, 'signatures');
  return (Array.isArray(all) ? all : []).flatMap((each) => {
    const [key_id, signature] = [at(each, 'key_id'), at(each, 'signature')];
    return typeof key_id === 'string' && typeof signature === 'string' ? [{ key_id, signature }] : [];
  });
});
