import type { StaffToken, TokenListAnswer } from '../../../src/http/responses/api-types.js';
import { useState } from 'preact/hooks';
import { Button } from '../../shared/forms/button.js';
import { formatDay, plural } from '../../shared/dates/dates.js';
import { t, UntrustedText } from '../../shared/texts/text.js';
import { moveFocus } from '../../shared/notices/announcer.js';
import { Loaded } from '../parts/loaded.js';
import { showChange } from '../parts/show-change.js';
import { Table, type Column } from '../parts/table.js';
import { useLoad } from '../use-load.js';
import { messages } from '../messages.js';
import { RevokeDialog } from './revoke-dialog.js';

const texts = messages.tokens;
const HEADING_ID = 'tokens';

const COLUMNS: readonly Column<StaffToken>[] = [
  { name: texts.id, isRowHeader: true, cell: ({ id }) => <span class="mono small">{id}</span> },
  { name: texts.owner, cell: ({ email }) => <UntrustedText text={email} /> },
  { name: texts.role, cell: ({ role }) => messages.roles[role] },
  { name: texts.made, cell: ({ created_at }) => formatDay(created_at) },
  { name: texts.ends, cell: ({ expires_at }) => formatDay(expires_at) },
];

/** The tokens with which scripts sign in. The page only lists and revokes them. */
export function Tokens() {
  const load = useLoad<TokenListAnswer>('tokens');
  const [tokenToRevoke, setTokenToRevoke] = useState<StaffToken>();
  const revoke: Column<StaffToken> = {
    name: texts.actions,
    hidesName: true,
    cell: (token) => (
      <Button
        kind="harm"
        label={t(texts.revokeLabel, { email: token.email, day: formatDay(token.created_at) })}
        onClick={() => setTokenToRevoke(token)}
      >
        {texts.revoke}
      </Button>
    ),
  };
  return (
    <section class="flow" aria-labelledby={HEADING_ID}>
      <h2 id={HEADING_ID}>{texts.title}</h2>
      <Loaded load={load} loadingText={texts.waiting}>
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
      {tokenToRevoke && (
        <RevokeDialog
          token={tokenToRevoke}
          onClose={() => setTokenToRevoke(undefined)}
          onDone={() => {
            setTokenToRevoke(undefined);
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
