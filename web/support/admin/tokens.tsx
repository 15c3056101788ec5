import { useState } from 'preact/hooks';
import { Button } from '../../shared/button.js';
import { day, plural } from '../../shared/dates.js';
import { Stranger } from '../../shared/fill.js';
import { Notice } from '../../shared/notice.js';
import { moveFocus } from '../../shared/announcer.js';
import { Loaded } from '../parts/loaded.js';
import { say as put } from '../../shared/say.js';
import { showChange } from '../parts/show-change.js';
import { Table, type Column } from '../parts/table.js';
import type { Token } from '../types.js';
import { useLoad } from '../use-load.js';
import { words } from '../words.js';
import { RevokeDialog } from './revoke-dialog.js';

const say = words.tokens;
const HEADING_ID = 'tokens';

const COLUMNS: readonly Column<Token>[] = [
  { name: say.id, head: true, cell: ({ id }) => <span class="mono small">{id}</span> },
  { name: say.owner, cell: ({ email }) => <Stranger text={email} /> },
  { name: say.role, cell: ({ role }) => words.roles[role] },
  { name: say.made, cell: ({ created_at }) => day(created_at) },
  { name: say.ends, cell: ({ expires_at }) => day(expires_at) },
];

/** What scripts sign in with; here they are only listed and revoked. */
export function Tokens() {
  const load = useLoad<{ tokens: Token[] }>('tokens');
  const [revoking, setRevoking] = useState<Token>();
  const [done, setDone] = useState(false);
  const revoke: Column<Token> = {
    name: say.actions,
    plain: true,
    cell: (token) => (
      <Button
        kind="harm"
        label={put(say.revokeLabel, { email: token.email, day: day(token.created_at) })}
        onClick={() => setRevoking(token)}
      >
        {say.revoke}
      </Button>
    ),
  };
  return (
    <section class="flow" aria-labelledby={HEADING_ID}>
      <h2 id={HEADING_ID}>{say.title}</h2>
      {done && <Notice kind="good">{say.revoked}</Notice>}
      <Loaded load={load} waiting={say.waiting}>
        {({ tokens }) =>
          tokens.length === 0 ? (
            <p>{say.none}</p>
          ) : (
            <Table
              caption={plural(tokens.length, say.caption)}
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
            setDone(true);
            void load.reload().then(() => {
              showChange(say.revoked);
              moveFocus(document.getElementById(HEADING_ID));
            });
          }}
        />
      )}
    </section>
  );
}
