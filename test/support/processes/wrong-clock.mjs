// Preloaded into a service: the environment sets by how much its wall clock is wrong, and a message changes it. Timers and
// `performance` continue, as on a machine whose clock is set.
const Actual = Date;
let offset = Number(process.env.TEST_CLOCK_OFFSET ?? 0);

globalThis.Date = class Date extends Actual {
  constructor(...given) {
    super(...(given.length > 0 ? given : [Actual.now() + offset]));
  }

  static now() {
    return Actual.now() + offset;
  }
};

process.on('message', (milliseconds) => {
  offset = milliseconds;
  process.send('jumped');
});
process.channel?.unref();
