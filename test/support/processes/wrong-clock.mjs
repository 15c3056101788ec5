// A module that is preloaded into a service and makes its wall clock wrong by TEST_CLOCK_OFFSET (milliseconds), until a message
// sets another offset. Timers and `performance` are not affected, as on a computer whose clock is set.
const ActualDate = Date;
let offset = Number(process.env.TEST_CLOCK_OFFSET ?? 0);

globalThis.Date = class Date extends ActualDate {
  constructor(...given) {
    super(...(given.length > 0 ? given : [ActualDate.now() + offset]));
  }

  static now() {
    return ActualDate.now() + offset;
  }
};

process.on('message', (milliseconds) => {
  offset = milliseconds;
  process.send('clock set');
});
process.channel?.unref();
