import { useEffect } from 'preact/hooks';
import { number, plural } from '../shared/dates.js';
import { fill, UntrustedText, t } from '../shared/text.js';
import type { HolderLicensesAnswer, HolderLicense } from '../shared/api-types.js';
import { freePlaces, standing, works } from './holder.js';
import { Seats } from './seats.js';
import { messages } from './messages.js';

const texts = messages.summary;

/** The first line, which answers what people come for: "1 of 1 machines in use". */
export function Summary({ holder }: { holder: HolderLicensesAnswer }) {
  const headline = headlineOf(holder.licenses);
  const lead =
    holder.licenses.length === 0
      ? fill(texts.noLicenseLead, { email: <UntrustedText text={holder.email} /> })
      : leadOf(holder.licenses);
  const only = holder.licenses.length === 1 && holder.licenses[0];
  useEffect(() => void (document.title = headline), [headline]);
  return (
    <>
      <h1 id="headline">{headline}</h1>
      {only && works(only) && <Seats used={only.machines_in_use} allowed={only.machines_allowed} />}
      {lead && <p class="lead">{lead}</p>}
    </>
  );
}

export const inUse = (used: number, allowed: number) =>
  t(texts.inUse, { used: number(used), allowed: number(allowed) });

const total = (licenses: readonly HolderLicense[], of: (license: HolderLicense) => number) =>
  licenses.reduce((sum, license) => sum + of(license), 0);

function headlineOf(licenses: readonly HolderLicense[]): string {
  const [first, ...others] = licenses;
  if (!first) return texts.noLicense;
  const working = licenses.filter(works);
  if (working.length > 0) {
    return inUse(
      total(working, ({ machines_in_use }) => machines_in_use),
      total(working, ({ machines_allowed }) => machines_allowed),
    );
  }
  if (others.length > 0) return texts.noneWorks;
  return texts.ended[standing(first) as keyof typeof texts.ended];
}

/** With several licenses, a new machine needs the key of one that has a free place. */
function freeText(free: number, licenses: readonly HolderLicense[]): string {
  if (licenses.length === 1) return plural(free, texts.free);
  const withPlace = licenses.filter((license) => works(license) && freePlaces(license) > 0);
  const forms = withPlace.length === 1 ? texts.freeWithKey : texts.freeWithKeys;
  return t(plural(free, forms), { hints: withPlace.map(({ key_hint }) => key_hint).join(', ') });
}

/** What the first line means for the next machine. */
function leadOf(licenses: readonly HolderLicense[]): string {
  const working = licenses.filter(works);
  if (working.length === 0) return '';
  const used = total(working, ({ machines_in_use }) => machines_in_use);
  // Each license says by itself what to do where it is not active yet.
  if (used === 0) return '';
  const free = total(working, freePlaces);
  if (free > 0) return freeText(free, licenses);
  const toRelease = Math.min(
    ...working.map(({ machines_in_use, machines_allowed }) => machines_in_use - machines_allowed + 1),
  );
  return toRelease > 1 ? t(texts.over, { count: number(toRelease) }) : plural(used, texts.full);
}
