import type { TokenListAnswer } from '../../shared/api-types.js';
import { useState } from 'preact/hooks';
import { Button } from '../../shared/button.js';
import { day, plural } from '../../shared/dates.js';
import { t, UntrustedText } from '../../shared/text.js';
import { moveFocus } from '../../shared/announcer.js';
import { Loaded } from '../parts/loaded.js';
import { showChange } from '../parts/show-change.js';
import { Table, type Column } from '../parts/table.js';
import type { Token } from '../types.js';
import { useLoad } from '../use-load.js';
import { messages } from '../messages.js';
import { RevokeDialog } from './revoke-dialog.js';

const texts = messages.tokens;
const HEADING_ID = 'tokens';

const COLUMNS: readonly Column<Token>[] = [
  { name: texts.id, head: true, cell: ({ id }) => <span class="mono small">{id}</span> },
  { name: texts.owner, cell: ({ email }) => <UntrustedText text={email} /> },
  { name: texts.role, cell: ({ role }) => messages.roles[role] },
  { name: texts.made, cell: ({ created_at }) => day(created_at) },
  { name: texts.ends, cell: ({ expires_at }) => day(expires_at) },
];

/** What scripts sign in with; here they are only listed and revoked. */
export function Tokens() {
  const load = useLoad<TokenListAnswer>('tokens');
  const [revoking, setRevoking] = useState<Token>();
  const revoke: Column<Token> = {
    name: texts.actions,
    plain: true,
    cell: (token) => (
      <Button
        kind="harm"
        label={t(texts.revokeLabel, { email: token.email, day: day(token.created_at) })}
        onClick={() => setRevoking(token)}
      >
        {texts.revoke}
      </Button>
    ),
  };
  return (
    <section class="flow" aria-labelledby={HEADING_ID}>
      <h2 id={HEADING_ID}>{texts.title}</h2>
      <Loaded load={load} waiting={texts.waiting}>
        {({ tokens }) =>
          tokens.length === 0 ? (
            <p>{texts.none}</p>
          ) : (
            <Table
              caption={plural(tokens.length, texts.caption)}
              columns={[...COLUMNS, revoke]}
              rows={tokens}
              idOf={({ id }) => id}
            />
          )
        }
      </Loaded>
      {revoking && (
        <RevokeDialog
          token={revoking}
          onClose={() => setRevoking(undefined)}
          onDone={() => {
            setRevoking(undefined);
            void load.reload().then(() => {
              showChange(texts.revoked);
              moveFocus(document.getElementById(HEADING_ID));
            });
          }}
        />
      )}
    </section>
  );
}
