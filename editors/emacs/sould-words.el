;;; sould-words.el --- Which words of lines differ  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Pure: lines in, places out.  Lines that are too long to be compared, or have too little in common for marks to help, have none.

;;; Code:

(require 'cl-lib)

(defconst sould-words--most 150 "Words of a line that are compared; longer lines have no marks.")
(defconst sould-words--pairs 64 "Pairs of lines that are compared at most, and lines of a hunk.")
(defconst sould-words--least 0.4 "The part that two lines must have in common to get marks.")

(defun sould-words-marks (base lines)
  "Which words to mark in BASE and LINES, lists of strings.
A pair: for each line of BASE, and for each of LINES, the list of its
parts that differ, as (FROM . TO)."
  (let ((old (make-vector (length base) nil)) (new (make-vector (length lines) nil)))
    (pcase-dolist (`(,i ,j ,_ ,ours . ,theirs) (sould-words--paired base lines))
      (aset old i ours)
      (aset new j theirs))
    (cons (append old nil) (append new nil))))

(defun sould-words--paired (base lines)
  "Which of BASE became which of LINES: their places, and what differs."
  (cond ((> (length lines) sould-words--pairs) nil)
        ((= (length base) (length lines))
         (cl-loop for one in base for other in lines for i from 0
                  for found = (sould-words--alike one other)
                  when found collect (cons i (cons i found))))
        ((<= (* (length base) (length lines)) sould-words--pairs)
         (let ((next 0))
           (cl-loop for other in lines for j from 0
                    for found = (cl-loop for one in (nthcdr next base) for i from next
                                         for same = (sould-words--alike one other)
                                         when same return (cons i (cons j same)))
                    when found collect found and do (setq next (1+ (car found))))))))

(defun sould-words--alike (one other)
  "What differs between the lines ONE and OTHER if they are alike, else nil."
  (let ((found (sould-words--compare one other)))
    (and (>= (car found) sould-words--least) found)))

(defun sould-words--split (text)
  "The words, blanks and signs of TEXT as (FROM . TO)."
  (let ((start 0) found)
    (while (string-match "[[:alnum:]_]+\\|[ \t]+\\|[^[:alnum:]_ \t\n]" text start)
      (push (cons (match-beginning 0) (match-end 0)) found)
      (setq start (match-end 0)))
    (vconcat (nreverse found))))

(defun sould-words--compare (one other)
  "The part that the lines ONE and OTHER have in common, and what differs.
A list of a number from 0 to 1, the places in ONE, and those in OTHER
as its tail."
  (let ((ours (sould-words--split one)) (theirs (sould-words--split other)))
    (if (or (> (length ours) sould-words--most) (> (length theirs) sould-words--most))
        '(0 nil)
      (let ((common (sould-words-common (sould-words--texts one ours) (sould-words--texts other theirs))))
        (cons (/ (float (sould-words--weight one (mapcar (lambda (pair) (aref ours (car pair))) common)))
                 (max 1 (sould-words--weight one ours) (sould-words--weight other theirs)))
              (cons (sould-words--rest ours (mapcar #'car common))
                    (sould-words--rest theirs (mapcar #'cdr common))))))))

(defun sould-words--texts (text parts)
  "The PARTS of TEXT as strings."
  (cl-map 'vector (lambda (part) (substring text (car part) (cdr part))) parts))

(defun sould-words--weight (text parts)
  "How many characters of TEXT are in those of its PARTS that are words."
  (cl-loop for part being the elements of parts
           when (string-match-p "\\`[[:alnum:]_]" (substring text (car part) (cdr part)))
           sum (- (cdr part) (car part))))

(defun sould-words-common (ours theirs)
  "The longest common part of the vectors OURS and THEIRS, as pairs of places."
  (let* ((n (length ours)) (m (length theirs)) (width (1+ m))
         (table (make-vector (* (1+ n) width) 0)) (i 0) (j 0) found)
    (cl-loop for a from (1- n) downto 0 do
             (cl-loop for b from (1- m) downto 0 do
                      (aset table (+ (* a width) b)
                            (if (string= (aref ours a) (aref theirs b))
                                (1+ (aref table (+ (* (1+ a) width) b 1)))
                              (max (aref table (+ (* (1+ a) width) b)) (aref table (+ (* a width) b 1)))))))
    (while (and (< i n) (< j m))
      (cond ((string= (aref ours i) (aref theirs j))
             (push (cons i j) found)
             (cl-incf i) (cl-incf j))
            ((>= (aref table (+ (* (1+ i) width) j)) (aref table (+ (* i width) j 1))) (cl-incf i))
            (t (cl-incf j))))
    (nreverse found)))

(defun sould-words--rest (parts same)
  "The PARTS whose places are not in SAME, joined where they touch."
  (let (found)
    (dotimes (place (length parts))
      (unless (memq place same)
        (let ((part (aref parts place)))
          (if (and found (= (cdar found) (car part)))
              (setcdr (car found) (cdr part))
            (push (cons (car part) (cdr part)) found)))))
    (nreverse found)))

(provide 'sould-words)
;;; sould-words.el ends here
