import { expect, test } from '@jest/globals';
import { ManifestService } from '../../src/manifest/manifest.service.js';
import { makeSample } from '../../src/server/sample-data.js';
import { Service } from '../support/harness.js';

test('after a start that could not create the sample manifest, the next one creates it and the sample license', async () => {
  const service = await Service.start();
  await service.sql(
    `create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
     create trigger refuse before insert on manifest for each row execute function refuse()`,
  );
  await expect(makeSample(service.app)).rejects.toThrow('refused');
  await service.sql('drop trigger refuse on manifest');
  expect(await makeSample(service.app)).toMatchObject({
    email: 'ada@example.com',
    license_key: expect.any(String),
  });
  expect(service.app.get(ManifestService).live?.content.version).toBe('1.0.0');
});
