import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { focusFirstError } from '../../shared/notices/announcer.js';
import type { AuditFiltersAnswer } from '../../../src/http/responses/api-types.js';
import { DAY_INPUT } from '../../shared/dates/dates.js';
import { Button } from '../../shared/forms/button.js';
import { Choice } from '../../shared/forms/choice.js';
import { Field } from '../../shared/forms/field.js';
import { Form } from '../../shared/forms/form.js';
import { isIncompleteDay } from '../../shared/forms/incomplete-day.js';
import { messages } from '../messages.js';
import { goTo, hrefOf } from '../route.js';
import { isDay, readFilter, toQuery } from './audit-query.js';
import { actionText, actorText } from './event-texts.js';

const { audit: texts } = messages;

interface Props {
  /** The filters of the URL, and the cursor of a page of older events. */
  readonly query: string;
  readonly choices: AuditFiltersAnswer;
}

/**
 * The filters of the audit trail. A button applies them, because a day that is half typed is often valid too, so each
 * key would load other events.
 */
export function AuditFilterForm({ query, choices }: Props) {
  const form = useRef<HTMLFormElement>(null);
  const [filter, setFilter] = useState(readFilter(query));
  const [wrongDays, setWrongDays] = useState<readonly string[]>([]);
  // The URL also changes when the browser goes back. An effect after the first paint would undo what a person has chosen by then.
  useLayoutEffect(() => {
    // A day that is typed in part is in the input only, and its value is empty. So setting the filter would not remove it.
    form.current!.reset();
    setWrongDays([]);
    setFilter(readFilter(query));
  }, [query]);
  const bind = (name: keyof typeof filter) => ({
    name,
    value: filter[name],
    onValue: (value: string) => setFilter((before) => ({ ...before, [name]: value })),
  });
  const bindDay = (name: 'from' | 'to') => ({
    ...bind(name),
    input: DAY_INPUT,
    error: wrongDays.includes(name) ? messages.dayWrong : undefined,
  });
  const isReversed = filter.from !== '' && filter.to !== '' && filter.to < filter.from;
  const apply = async () => {
    const newWrongDays = (['from', 'to'] as const).filter(
      (name) => isIncompleteDay(form.current!, name) || (filter[name] !== '' && !isDay(filter[name])),
    );
    setWrongDays(newWrongDays);
    if (isReversed || newWrongDays.length > 0) focusFirstError(form.current!);
    else goTo('audit', toQuery(filter));
  };
  const actors = choices.actors.map(({ id, actor }) => [id, actorText(actor)] as const);
  const actions = choices.actions.map((action) => [action, actionText(action)] as const);
  return (
    <Form formRef={form} onSubmit={apply}>
      <div class="filters">
        <Choice
          label={texts.actor}
          options={optionsOf(texts.anyActor, actors, filter.actor_id, texts.unknownActor)}
          {...bind('actor_id')}
        />
        <Choice
          label={texts.action}
          options={optionsOf(texts.anyAction, actions, filter.action, filter.action)}
          {...bind('action')}
        />
        <Field label={texts.from} {...bindDay('from')} />
        <Field label={texts.to} {...bindDay('to')} {...(isReversed && { error: texts.reversed })} />
        <div class="actions">
          <Button type="submit">{texts.apply}</Button>
          {query && <a href={hrefOf('audit')}>{texts.clear}</a>}
        </div>
      </div>
    </Form>
  );
}

/** The options of a choice, also for a value of the URL that has no events any more. */
function optionsOf(
  any: string,
  options: readonly (readonly [value: string, text: string])[],
  selected: string,
  unknown: string,
): Record<string, string> {
  const known = Object.fromEntries([['', any], ...options]) as Record<string, string>;
  return Object.hasOwn(known, selected) ? known : { ...known, [selected]: unknown };
}
