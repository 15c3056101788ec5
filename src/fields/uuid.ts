import { validate as isUuid } from 'uuid';
import { textField } from '../core/field.js';

/** A UUID. @param sentence the end of the sentence that refuses a text which is no UUID, such as `must be a UUID` */
export const uuidField = (sentence: string) => textField(sentence, (text) => (isUuid(text) ? text : null));
