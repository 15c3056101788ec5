import { once } from './check.ts';
import type { Answer } from './http.ts';
import { NotChecked } from './not-checked.ts';
import { at, isObject, describeAnswer } from './shape.ts';

/** The answer to the first request for the manifest. */
export const manifestAnswer = once((service) => service.ask('GET', '/v1/manifest'));

/** The answer with the published manifest. @throws NotChecked without one */
export const publishedManifest = once(async (service): Promise<Answer> => {
  const answer = await manifestAnswer(service).catch(() => {
    throw new NotChecked('the manifest was not answered');
  });
  if (at(answer.json, 'code') === 'no_version_published') throw new NotChecked('no version is published');
  if (answer.status !== 200 || !isObject(answer.json))
    throw new NotChecked(`there is no manifest to check: ${describeAnswer(answer)}`);
  return answer;
});

interface SignedContent {
  /** The text of the member `signed`, which the signatures are for. */
  readonly text: string;
  readonly content: Record<string, unknown>;
}

/** The signed text of the manifest, and its parsed content. @throws NotChecked without them */
export const signedContent = once(async (service): Promise<SignedContent> => {
  const text = at((await publishedManifest(service)).json, 'signed');
  if (typeof text !== 'string') throw new NotChecked('the manifest has no signed text');
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    throw new NotChecked('the signed text is not JSON');
  }
  if (!isObject(content)) throw new NotChecked('the signed text is not a JSON object');
  return { text, content };
});

interface Signature {
  readonly key_id: string;
  readonly signature: string;
}

/** The well-formed entries of the member `signatures`. */
export const manifestSignatures = once(async (service): Promise<Signature[]> => {
  const all = at((await publishedManifest(service)).json, 'signatures');
  return (Array.isArray(all) ? all : []).flatMap((each) => {
    const [key_id, signature] = [at(each, 'key_id'), at(each, 'signature')];
    return typeof key_id === 'string' && typeof signature === 'string' ? [{ key_id, signature }] : [];
  });
});
